"""What a measurement prints: figures as they come, then the goals."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Report:
    """Figures as they come, and which of the goals they reach."""

    figures: dict[str, float] = field(default_factory=dict)
    goals: list[tuple[str, float, str, float, bool]] = field(default_factory=list)

    def note(self, name: str, value: float, unit: str = "/s") -> float:
        """Keep and print one figure."""
        self.figures[name] = value
        print(f"  {name:<58}{value:>14,.2f} {unit}", flush=True)
        return value

    def at_least(self, name: str, value: float, goal: float) -> None:
        """Compare with a goal that is to be reached."""
        self.goals.append((name, value, "≥", goal, value >= goal))

    def at_most(self, name: str, value: float, goal: float) -> None:
        """Compare with a goal that is not to be passed."""
        self.goals.append((name, value, "≤", goal, value <= goal))

    def close(self) -> int:
        """Print the goals; return how many were missed."""
        print("\ngoals (ratios of this run)")
        for name, value, sign, goal, reached in self.goals:
            print(f"  {'reached' if reached else 'MISSED ':<8}{name:<62}{value:>9.3f} {sign} {goal}")
        return sum(not goal[-1] for goal in self.goals)
