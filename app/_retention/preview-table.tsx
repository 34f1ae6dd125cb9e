"use client";
import { shownStep } from "#protocol/checkpoint/step-words.ts";
import { reasonWords } from "#protocol/retention/decide-keeping.ts";
import type { PreviewRow, RunPreview } from "#protocol/retention/keeping.ts";
import { formatCount } from "#protocol/base/units.ts";
import { Cell, Row, Table, type Column } from "../_ui/tables/table.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

const COLUMNS: readonly Column[] = [
  { key: "step", head: "Step" },
  { key: "fate", head: "", label: "Outcome" },
  { key: "why", head: "Because" },
  { key: "size", head: "Size", align: "right" },
];
const MOST_SHOWN = 1_000;

/** Returns `3 of 12 go to the trash: 4.1 GiB.` */
export function previewWords({ goes, stays, freedBytes }: Pick<RunPreview, "goes" | "stays" | "freedBytes">): string {
  const all = formatCount(goes + stays);
  return goes === 0
    ? `None of ${all} goes to the trash.`
    : `${formatCount(goes)} of ${all} ${goes === 1 ? "goes" : "go"} to the trash: ${formatBytes(freedBytes)}.`;
}

const whyOf = ({ because }: PreviewRow): string => because.map((reason) => visibleText(reasonWords(reason))).join(", ");

/** Lists every checkpoint of a run with the policy's verdict; those that go to the trash come first. */
export function PreviewTable({ preview }: { preview: RunPreview }) {
  const rows = [
    ...preview.rows.filter(({ fate }) => fate === "goes"),
    ...preview.rows.filter(({ fate }) => fate === "stays"),
  ];
  return (
    <>
      <Table label="What the policy does" columns={COLUMNS}>
        {rows.slice(0, MOST_SHOWN).map((row) => (
          <Row key={row.id}>
            <Cell className="nums whitespace-nowrap">
              {shownStep(row.step)} <span className="text-12 text-faint max-sm:hidden">epoch {row.writerEpoch}</span>
            </Cell>
            <Cell>
              <Tag tone={row.fate === "goes" ? "risk" : "safe"}>{row.fate === "goes" ? "Trash" : "Keep"}</Tag>
            </Cell>
            <Cell className="[overflow-wrap:anywhere] text-soft">{whyOf(row)}</Cell>
            <Cell align="right">{formatBytes(row.sizeBytes)}</Cell>
          </Row>
        ))}
      </Table>
      {rows.length > MOST_SHOWN && (
        <p className="nums px-4 py-2 text-12 text-faint">{formatCount(rows.length - MOST_SHOWN)} more are not shown.</p>
      )}
    </>
  );
}
