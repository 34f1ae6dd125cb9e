"use client";
import type { AdviceAnswer, RateSpread } from "#protocol/alerts/advice.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import { parseSize } from "#protocol/wire/read-units.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { TextInput } from "../_ui/controls/text-input.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Cell, Row, Table, type Column } from "../_ui/tables/table.tsx";
import { valueWords } from "./advice-words.ts";
import { expectedTimes } from "./expected-times.ts";

const COLUMNS: readonly Column[] = [
  { key: "what", head: "", label: "What" },
  { key: "p50", head: "Half of nodes", align: "right" },
  { key: "p90", head: "Nine of ten", align: "right", edge: "narrow" },
  { key: "rests", head: "Rests on", align: "right", from: "sm" },
];

/** Shows how long uploading and restoring a checkpoint of a given size takes on this fleet. */
export function TimesPanel({ answer }: { answer: Pick<AdviceAnswer, "up" | "down"> }) {
  const [size, setSize] = useAddressWord("size", "10GiB", "same");
  const sizeBytes = readSize(size);
  return (
    <Panel
      label="Expected times"
      title="How long a checkpoint takes"
      side={
        <>
          <label htmlFor="advice-size">Size</label>
          <div className="w-28">
            <TextInput
              id="advice-size"
              kind="code"
              defaultValue={size}
              aria-invalid={sizeBytes === null ? true : undefined}
              onBlur={(event) => setSize(event.target.value.trim() === "" ? "10GiB" : event.target.value.trim())}
              onKeyDown={(event) => {
                if (event.key === "Enter") event.currentTarget.blur();
              }}
            />
          </div>
        </>
      }
    >
      {sizeBytes === null ? (
        <p className="px-4 py-6 text-lost">A size looks like 64MiB, 100M or 1.5G.</p>
      ) : (
        <Table label="Expected times" columns={COLUMNS}>
          <TimesRow label="Made safe in" spread={answer.up} sizeBytes={sizeBytes} />
          <TimesRow label="Restored in" spread={answer.down} sizeBytes={sizeBytes} />
        </Table>
      )}
    </Panel>
  );
}

function readSize(text: string): number | null {
  try {
    const bytes = parseSize(text);
    return bytes > 0 ? bytes : null;
  } catch (error) {
    if (isFault(error)) return null;
    throw error;
  }
}

function TimesRow({ label, spread, sizeBytes }: { label: string; spread: RateSpread; sizeBytes: number }) {
  const times = expectedTimes(spread, sizeBytes);
  const nodes = `${formatCount(spread.nodes)} ${spread.nodes === 1 ? "node" : "nodes"}`;
  return (
    <Row>
      <Cell>{label}</Cell>
      <Cell align="right" className="font-mid">
        {times === null ? <span className="text-faint">–</span> : formatDuration(times.p50)}
      </Cell>
      <Cell align="right" className="font-mid max-sm:pr-4">
        {times === null ? <span className="text-faint">–</span> : formatDuration(times.p90)}
      </Cell>
      <Cell from="sm" align="right" className="text-soft">
        {times === null ? `${nodes}; needs at least ${formatCount(Math.max(5, spread.least))}` : valueWords(spread)}
      </Cell>
    </Row>
  );
}
