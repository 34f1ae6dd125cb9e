/** Consecutive pieces in the same state. */
export interface PieceRun {
  state: string;
  start: number;
  length: number;
}

/** Returns the run lengths of a piece map (`.` waiting, `>` moving, `#` acknowledged, `!` being retried). */
export function pieceRuns(pieces: string): PieceRun[] {
  const runs: PieceRun[] = [];
  for (let index = 0; index < pieces.length; index++) {
    const state = pieces[index] ?? ".";
    const last = runs.at(-1);
    if (last !== undefined && last.state === state) last.length++;
    else runs.push({ state, start: index, length: 1 });
  }
  return runs;
}

export function countPieces(pieces: string): { done: number; moving: number; again: number; waiting: number } {
  const counts = { done: 0, moving: 0, again: 0, waiting: 0 };
  for (const state of pieces) {
    if (state === "#") counts.done++;
    else if (state === ">") counts.moving++;
    else if (state === "!") counts.again++;
    else counts.waiting++;
  }
  return counts;
}
