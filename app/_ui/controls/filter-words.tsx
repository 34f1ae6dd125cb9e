"use client";
import { formatCount } from "#protocol/base/units.ts";
import { classNames } from "../rendering/class-names.ts";

interface FilterWord {
  id: string;
  label: string;
  count?: number | undefined;
}

interface FilterWordsProps {
  label: string;
  words: readonly FilterWord[];
  value: string;
  onChange: (id: string) => void;
}

/** Shows filters as words with their counts. */
export function FilterWords({ label, words, value, onChange }: FilterWordsProps) {
  return (
    <fieldset aria-label={label} className="-mx-1.5 flex min-w-0 flex-wrap">
      {words.map((word) => (
        <button
          key={word.id}
          type="button"
          aria-pressed={word.id === value}
          onClick={() => onChange(word.id)}
          className={classNames(
            "nums rounded-1 px-1.5 py-0.5 hover:text-ink",
            word.id === value ? "font-mid text-ink" : "text-faint",
          )}
        >
          {word.label}
          {word.count !== undefined && <span className="ml-1 font-normal">{formatCount(word.count)}</span>}
        </button>
      ))}
    </fieldset>
  );
}
