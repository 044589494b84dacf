"""What the collision attack is made of: victims, payloads, attacks that need no search, searches, and the decision step by step."""
