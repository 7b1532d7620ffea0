-- known_version: Read the newest version of a job that was submitted before.
SELECT version FROM leasehold.rerun WHERE kind = %(kind)s::text AND key = %(key)s::text
