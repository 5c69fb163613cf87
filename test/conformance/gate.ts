/** Holds an agent up until the test lets it go. */
export class Gate {
  open!: () => void;
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });

  /** The gate of that name; whoever comes first makes it. */
  static of(gates: Map<string, Gate>, name: string): Gate {
    const gate = gates.get(name) ?? new Gate();
    gates.set(name, gate);
    return gate;
  }
}
