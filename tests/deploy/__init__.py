"""What stands in deploy/ and docker-compose.yml: files agree with each other and with the program."""
