"""Where records go that cannot be published. This version has no lot yet: the relay stops instead."""
