import { countPieces, pieceRuns } from "./piece-runs.ts";

/** Between two cells: two pixels of the widest map, at most a quarter of a cell. */
const gapOf = (total: number): number => (total > 1 ? Math.min(0.25, (total * 2) / 480) : 0);

const FILL = { "#": "fill-safe", ">": "fill-moving", ".": "fill-line" } as const;

/** One cell per piece of a transfer: waiting, moving, acknowledged. Neighbours in the same state are drawn as one block. */
export function PieceMap({ pieces }: { pieces: string }) {
  const total = pieces.length;
  if (total === 0) return null;
  const count = countPieces(pieces);
  const cells = total <= 120;
  return (
    <svg
      role="img"
      aria-label={`${count.done} of ${total} pieces safe, ${count.moving} moving`}
      height="10"
      className="block w-full max-w-[480px]"
    >
      {(cells
        ? Array.from({ length: total }, (_, start) => ({ state: pieces[start] ?? ".", start, length: 1 }))
        : pieceRuns(pieces)
      ).map((run) => (
        <rect
          key={run.start}
          x={`${(run.start / total) * 100}%`}
          width={`${((run.length - (cells ? gapOf(total) : 0)) / total) * 100}%`}
          height="10"
          rx="1"
          className={FILL[run.state === "#" || run.state === ">" ? run.state : "."]}
        />
      ))}
    </svg>
  );
}
