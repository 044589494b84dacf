"""What keeps the beginnings of prompts from being reused, found in requests as they come."""
