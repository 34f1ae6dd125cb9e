"use client";
import { useState } from "react";
import type { Fate, Start } from "#protocol/links/replay-thresholds.ts";
import type { StartsAnswer } from "#protocol/links/thresholds.ts";
import { formatCount } from "#protocol/base/units.ts";
import { ClockTime } from "../_hub/live/age.tsx";
import { useRate } from "../_hub/preferences/choices.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { MoreRow } from "../_ui/tables/more-row.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Cell, Row, RowLink, Table, TwoLines, type Column } from "../_ui/tables/table.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { FATE_WORDS } from "./replay-words.ts";

const COLUMNS: readonly Column[] = [
  { key: "node", head: "Node" },
  { key: "when", head: "Measured", from: "md" },
  { key: "up", head: "Up", align: "right" },
  { key: "down", head: "Down", align: "right", from: "sm" },
  { key: "rtt", head: "Round trip", align: "right", from: "md" },
  { key: "fate", head: "With these", edge: "narrow" },
];
const PORTION = 50;
const SHOWS = ["changed", "rejected", "warned", "accepted", "away"] as const;
type Show = (typeof SHOWS)[number];
const LABELS: Record<Show, string> = {
  changed: "Changed",
  rejected: "Rejected",
  warned: "Doubted",
  accepted: "Accepted",
  away: "Elsewhere",
};

interface StartsTableProps {
  answer: Pick<StartsAnswer, "nodes" | "profiles">;
  starts: readonly Start[];
  now: readonly Fate[];
  then: readonly Fate[];
}

/** Lists the replayed measurements, newest first. */
export function StartsTable({ answer, starts, now, then }: StartsTableProps) {
  const [word, setWord] = useAddressWord("which", "rejected");
  const show = SHOWS.find((one) => one === word) ?? "rejected";
  const [most, setMost] = useState(PORTION);
  const groups: Record<Show, number[]> = { changed: [], rejected: [], warned: [], accepted: [], away: [] };
  for (let index = starts.length - 1; index >= 0; index--) {
    const [before, after] = [now[index], then[index]];
    if (before === undefined || after === undefined) continue;
    groups[FATE_WORDS[after].group].push(index);
    if (FATE_WORDS[before].group !== FATE_WORDS[after].group) groups.changed.push(index);
  }
  const shown = groups[show];
  return (
    <Panel
      label="Measurements"
      title="List them"
      side={
        <FilterWords
          label="Which"
          words={SHOWS.map((id) => ({ id, label: LABELS[id], count: groups[id].length }))}
          value={show}
          onChange={(id) => {
            setWord(id);
            setMost(PORTION);
          }}
        />
      }
    >
      {shown.length === 0 ? (
        <p className="px-4 py-6 text-soft">None of them.</p>
      ) : (
        <Table label="Measurements" columns={COLUMNS}>
          {shown.slice(0, most).map((index) => {
            const [start, fate] = [starts[index], then[index]];
            if (start === undefined || fate === undefined) return null;
            return <StartRow key={index} start={start} fate={fate} answer={answer} />;
          })}
        </Table>
      )}
      <MoreRow
        word="Earlier"
        onMore={shown.length > most ? () => setMost(most + PORTION) : null}
        note={shown.length > most ? `${formatCount(most)} of ${formatCount(shown.length)} shown` : undefined}
      />
    </Panel>
  );
}

function StartRow({ start, fate, answer }: { start: Start; fate: Fate; answer: StartsTableProps["answer"] }) {
  const rate = useRate();
  const node = answer.nodes[start.node];
  const profile = answer.profiles[start.profile];
  const { up, down, rttMs } = start.link;
  const dash = <span className="text-faint">–</span>;
  const words = FATE_WORDS[fate];
  const name = node?.name ?? null;
  return (
    <Row>
      <Cell className="max-w-0 w-[30%]">
        <TwoLines
          first={
            name === null || node === undefined ? (
              "a node that is forgotten"
            ) : (
              <RowLink href={`/nodes/${node.id}`}>{visibleText(name)}</RowLink>
            )
          }
          second={visibleText(profile?.name ?? "a bucket that was removed")}
        />
      </Cell>
      <Cell from="md" className="whitespace-nowrap text-soft">
        <ClockTime at={start.at} />
      </Cell>
      <Cell align="right">{up === null ? dash : rate(up)}</Cell>
      <Cell from="sm" align="right">
        {down === null ? dash : rate(down)}
      </Cell>
      <Cell from="md" align="right" className="text-soft">
        {rttMs === null ? dash : `${Math.round(rttMs)} ms`}
      </Cell>
      <Cell className="max-w-0 w-[34%]">
        <Tag tone={words.tone}>{words.label}</Tag>
      </Cell>
    </Row>
  );
}
