/** One execution of a training program: the step from which the next one continued, and the last step that it logged. */
export interface Life {
  from: number;
  last: number;
}

/** A row of the hub's lost-work ledger. */
interface Told {
  fromStep: number | null;
  lastStep: number;
  lostSteps: number;
}

/**
 * Compares the hub's lost work with the real one and returns differences as sentences. A kill can come between a step's report
 * to the worker and its log line. The log is then one step behind, so a row with one more step is right too. A kill between a
 * step and its report leaves two executions that continue from the same step, and no row.
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
  // Executions that need a row are matched first, in order of their last step, so that optional ones do not take their rows.
  const needed = lives.filter(({ from, last }) => last > from).toSorted((a, b) => a.last - b.last);
  for (const life of needed)
    if (!take(life, 0) && !take(life, 1))
      problems.push(`it came to ${life.last} and went on from ${life.from}: the hub does not say so`);
  for (const life of lives) if (life.last <= life.from) take(life, 1);
  for (const { fromStep, lastStep } of rows)
    problems.push(`the hub says ${lastStep} was lost to ${fromStep}: it was not`);
  return problems;
}
