import { countPieces, pieceRuns } from "./piece-runs.ts";

/** Between two cells: two pixels of the widest map, at most a quarter of a cell. */
const gapOf = (total: number): number => (total > 1 ? Math.min(0.25, (total * 2) / 480) : 0);

const FILL = { "#": "fill-safe", ">": "fill-moving", "!": "fill-risk", ".": "fill-line" } as const;
const lookOf = (state: string): keyof typeof FILL => (state === "#" || state === ">" || state === "!" ? state : ".");

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
  const cells = total <= 120;
  const words = sayPieces(pieces);
  const runs = cells
    ? Array.from({ length: total }, (_, start) => ({ state: pieces[start] ?? ".", start, length: 1 }))
    : pieceRuns(pieces);
  return (
    <svg role="img" aria-label={words} height="10" className="block w-full max-w-[480px]">
      <title>{words}</title>
      {runs.map(({ state, start, length }) => {
        const look = lookOf(state);
        const place = {
          x: `${(start / total) * 100}%`,
          width: `${((length - (cells ? gapOf(total) : 0)) / total) * 100}%`,
          rx: "1",
          className: FILL[look],
        };
        if (look !== "!") return <rect key={start} height="10" {...place} />;
        return (
          <g key={start}>
            <rect height="4" {...place} />
            <rect y="6" height="4" {...place} />
          </g>
        );
      })}
    </svg>
  );
}
