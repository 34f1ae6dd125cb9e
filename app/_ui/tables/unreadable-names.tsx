import { unreadableWords } from "#protocol/checkpoint/unreadable-names.ts";

/** Lists the object names that no request can address and that therefore have no row. Renders nothing when there are none. */
export function UnreadableNames({ first, count = first.length }: { first: readonly string[]; count?: number }) {
  if (count === 0) return null;
  return (
    <p className="border-t border-line px-4 py-2 text-12 text-risk">
      {unreadableWords(first, count)}. {count === 1 ? "It has" : "They have"} no row.
    </p>
  );
}
