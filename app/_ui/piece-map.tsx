import { countPieces, pieceRuns } from "./piece-runs.ts";

/** Between two cells: two pixels of the widest map, at most a quarter of a cell. */
const gapOf = (total: number): number => (total > 1 ? Math.min(0.25, (total * 2) / 480) : 0);

const FILL = { "#": "fill-safe", ">": "fill-moving", "!": "fill-risk", ".": "fill-line" } as const;

/** The cells in one state. Each for itself while they are wide enough to be told apart, else neighbours as one block. */
function pathOf(pieces: string, look: string): string {
  const total = pieces.length;
  const apart = total <= 120;
  const gap = apart ? gapOf(total) : 0;
  let path = "";
  const draw = (x: number, width: number): void => {
    const across = `h${width}`;
    path +=
      look === "!" ? `M${x} 0${across}v4h-${width}zM${x} 6${across}v4h-${width}z` : `M${x} 0${across}v10h-${width}z`;
  };
  for (const { state, start, length } of pieceRuns(pieces)) {
    if ((state in FILL ? state : ".") !== look) continue;
    if (!apart) draw(start, length);
    else for (let at = start; at < start + length; at++) draw(at, 1 - gap);
  }
  return path;
}

/** The words of a map: what a screen reader says, and what is shown beside the pointer. */
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
 * One cell per piece of a transfer: waiting, moving, acknowledged; what came to nothing and is tried again is cut in two.
 * Neighbours in the same state are drawn as one block.
 */
export function PieceMap({ pieces }: { pieces: string }) {
  const total = pieces.length;
  if (total === 0) return null;
  const words = sayPieces(pieces);
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
      {Object.entries(FILL).map(([state, fill]) => (
        <path key={state} d={pathOf(pieces, state)} className={fill} />
      ))}
    </svg>
  );
}
