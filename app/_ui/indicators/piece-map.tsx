import { PIECE_STATES, piecePaths } from "./piece-paths.ts";
import { countPieces } from "./piece-runs.ts";

const FILL = { "#": "fill-safe", ">": "fill-moving", "!": "fill-risk", ".": "fill-line" } as const;

/** Returns the counts as text, for screen readers and the tooltip. */
function sayPieces(pieces: string): string {
  const { done, moving, again, waiting } = countPieces(pieces);
  return [
    `${done} of ${pieces.length} pieces safe`,
    ...(moving > 0 ? [`${moving} moving`] : []),
    ...(again > 0 ? [`${again} tried again`] : []),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
  ].join(", ");
}

/**
 * Draws one cell per piece of a transfer: waiting, moving or acknowledged. A piece that is being retried is drawn as two
 * halves. Adjacent cells in the same state are merged in large maps.
 */
export function PieceMap({ pieces, words = sayPieces(pieces) }: { pieces: string; words?: string }) {
  const total = pieces.length;
  if (total === 0) return null;
  const paths = piecePaths(pieces);
  return (
    <svg
      role="img"
      aria-label={words}
      height="10"
      viewBox={`0 0 ${total} 10`}
      preserveAspectRatio="none"
      className="block w-full max-w-[480px]"
    >
      <title>{words}</title>
      {PIECE_STATES.map((state) => (
        <path key={state} d={paths[state]} className={FILL[state]} />
      ))}
    </svg>
  );
}
