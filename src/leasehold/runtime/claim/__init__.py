"""How a worker gets its tasks: the claimer, its capacity, the attempts it holds, the branches it serves."""
