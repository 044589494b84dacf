"""The pages of review: rendered on the server, inert text, no script but our own."""
