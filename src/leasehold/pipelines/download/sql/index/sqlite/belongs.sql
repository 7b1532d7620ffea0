-- belongs: Tell whose index this is.
SELECT id FROM folder
