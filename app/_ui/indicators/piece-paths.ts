import { pieceRuns } from "./piece-runs.ts";

export const PIECE_STATES = ["#", ">", "!", "."] as const;
export type PieceState = (typeof PIECE_STATES)[number];

/** Most pieces drawn as separate cells. Above this, adjacent pieces in the same state become one block. */
const APART_UP_TO = 120;
/** Gap between two cells as a share of a cell: two pixels of the widest map, at most a quarter. */
const gapOf = (total: number): number => (total > 1 ? Math.min(0.25, (total * 2) / 480) : 0);

const block = (x: number, width: number): string => `M${x} 0h${width}v10h-${width}z`;
/** Returns the path of a block cut in two halves for a retried piece, so that color is not the only sign. */
const cutBlock = (x: number, width: number): string => `M${x} 0h${width}v4h-${width}zM${x} 6h${width}v4h-${width}z`;

const stateOf = (state: string): PieceState => PIECE_STATES.find((one) => one === state) ?? ".";

/** Returns one SVG path per state for a box that is one unit wide per piece and 10 high. Empty when no piece is in that state. */
export function piecePaths(pieces: string): Record<PieceState, string> {
  const paths = { "#": "", ">": "", "!": "", ".": "" };
  const isApart = pieces.length <= APART_UP_TO;
  const gap = gapOf(pieces.length);
  for (const { state: letter, start, length } of pieceRuns(pieces)) {
    const state = stateOf(letter);
    const draw = state === "!" ? cutBlock : block;
    if (!isApart) paths[state] += draw(start, length);
    else for (let at = start; at < start + length; at++) paths[state] += draw(at, 1 - gap);
  }
  return paths;
}
