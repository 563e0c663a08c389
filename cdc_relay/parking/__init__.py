"""Where records go that cannot be published: the lot, for the running relay and for operators."""
