import { unreadableWords } from "#protocol/checkpoint/unreadable-names.ts";

/** Says which names of a listing no request can ask for; they have no row. Nothing where there are none. */
export function UnreadableNames({ first, count = first.length }: { first: readonly string[]; count?: number }) {
  if (count === 0) return null;
  return (
    <p className="border-t border-line px-4 py-2 text-12 text-risk">
      {unreadableWords(first, count)}. {count === 1 ? "It has" : "They have"} no row.
    </p>
  );
}
