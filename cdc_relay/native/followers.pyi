from cdc_relay.dispatch.followers import find_followers_in_python as find_followers

__all__ = ["find_followers"]
