"""Where data, noise and budget meet: a session asks a table and hands out releases."""
