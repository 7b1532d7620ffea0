-- pruned: Tell when jobs were pruned last, with the messages that they had posted; 0 if never.
SELECT coalesce(max(audit.at), 0) AS at FROM main.audit WHERE audit.noun = 'job' AND audit.action = 'prune'
