/** One start of a training program: where it went on after it, and how far it had come by its own account. */
export interface Life {
  from: number;
  last: number;
}

/** A row of the hub's loss ledger. */
interface Told {
  fromStep: number | null;
  lastStep: number;
  lostSteps: number;
}

/**
 * What the hub says was lost against what was, in sentences. A kill between the word to the worker and the line in the log
 * leaves the log one step behind: a row of one step more is right too. A kill between a step and the word leaves two lives
 * that go on from the same step, and no row.
 */
export function compareLosses(lives: readonly Life[], told: readonly Told[]): string[] {
  const rows = [...told];
  const problems: string[] = [];
  const take = ({ from, last }: Life, ahead: number): boolean => {
    const at = rows.findIndex((row) => (row.fromStep ?? 0) === from && row.lastStep === last + ahead);
    const [row] = at === -1 ? [] : rows.splice(at, 1);
    if (row !== undefined && row.lostSteps !== row.lastStep - from)
      problems.push(`${row.lostSteps} steps between ${from} and ${row.lastStep}`);
    return row !== undefined;
  };
  // Those that need a row come first, the earliest first: none of them is left with what fits another one only.
  const needed = lives.filter(({ from, last }) => last > from).toSorted((a, b) => a.last - b.last);
  for (const life of needed)
    if (!take(life, 0) && !take(life, 1))
      problems.push(`it came to ${life.last} and went on from ${life.from}: the hub does not say so`);
  for (const life of lives) if (life.last <= life.from) take(life, 1);
  for (const { fromStep, lastStep } of rows)
    problems.push(`the hub says ${lastStep} was lost to ${fromStep}: it was not`);
  return problems;
}
