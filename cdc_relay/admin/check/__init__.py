"""`cdc-relay check`: facts are read from the servers, pure rules judge them, every finding comes with its fix."""
