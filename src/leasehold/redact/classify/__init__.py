"""Is this name, or this value, a secret?"""
