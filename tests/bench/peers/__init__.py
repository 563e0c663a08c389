"""Who is compared: one file each, behind the interface of peer.py."""
