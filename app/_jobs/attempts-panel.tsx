"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { formatDuration } from "#protocol/base/units.ts";
import type { JobAttemptRow } from "#protocol/jobs/job-views.ts";
import { ClockTime } from "../_hub/live/age.tsx";
import { useHubNow } from "../_hub/live/live.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { Link } from "../_ui/navigation/link.tsx";
import { Cell, Row, Table, type Column } from "../_ui/tables/table.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { barOf, lastStepOf } from "./attempt-bars.ts";
import { attemptLook, endWords, stepsWords } from "./job-words.ts";

const COLUMNS: readonly Column[] = [
  { key: "attempt", head: "Attempt" },
  { key: "outcome", head: "Outcome", edge: "narrow" },
  { key: "steps", head: "Steps", from: "sm" },
  { key: "node", head: "Node", from: "md" },
  { key: "time", head: "Took", align: "right", from: "sm" },
];

/** Lists the attempts of a job on one scale of steps, newest first. */
export function AttemptsPanel({ attempts }: { attempts: readonly JobAttemptRow[] }) {
  const lastStep = lastStepOf(attempts);
  return (
    <Panel
      title="Attempts"
      label="Attempts"
      note={lastStep > 0 && <span className="nums">up to {stepWords(lastStep)}</span>}
      side={
        <span className="flex flex-wrap gap-2">
          <Tag tone="moving">trained</Tag>
          <Tag tone="safe">newest safe step</Tag>
        </span>
      }
    >
      {attempts.length === 0 ? (
        <Empty title="No attempt yet">No node has taken the job so far.</Empty>
      ) : (
        <Table label="Attempts" columns={COLUMNS}>
          {attempts.map((attempt) => (
            <AttemptLine key={attempt.attempt} attempt={attempt} lastStep={lastStep} />
          ))}
        </Table>
      )}
    </Panel>
  );
}

function AttemptLine({ attempt, lastStep }: { attempt: JobAttemptRow; lastStep: number }) {
  const now = useHubNow(10_000);
  const { tone, text } = attemptLook(attempt);
  const end = endWords(attempt);
  const took = (attempt.endedAt ?? Math.max(now, attempt.startedAt)) - attempt.startedAt;
  const node = visibleText(attempt.node.name);
  return (
    <Row>
      <Cell className="whitespace-nowrap">
        <span className="nums font-mid">{attempt.attempt}</span>
        <div className="text-12 text-faint">
          <ClockTime at={attempt.startedAt} />
        </div>
      </Cell>
      <Cell className="max-w-72 max-sm:pr-4">
        <Tag tone={tone}>{text}</Tag>
        {end !== null && <span className="ml-2 text-12 text-soft">{end}</span>}
        {attempt.reason !== null && attempt.outcome !== "completed" && (
          <div className="text-12 [overflow-wrap:anywhere] text-faint">{visibleText(attempt.reason)}</div>
        )}
        <div className="nums text-12 text-faint sm:hidden">
          {stepsWords(attempt)}, {node}
        </div>
      </Cell>
      <Cell from="sm" className="w-[38%] min-w-44">
        <AttemptSteps attempt={attempt} lastStep={lastStep} />
      </Cell>
      <Cell from="md" className="max-w-44 truncate">
        {attempt.node.id === null ? (
          <span className="font-mid">{node}</span>
        ) : (
          <Link href={`/nodes/${encodeURIComponent(attempt.node.id)}`} className="font-mid hover:underline">
            {node}
          </Link>
        )}
        {attempt.epoch !== null && <div className="nums text-12 text-faint">epoch {attempt.epoch}</div>}
      </Cell>
      <Cell from="sm" align="right" className="text-soft">
        {formatDuration(took)}
      </Cell>
    </Row>
  );
}

function AttemptSteps({ attempt, lastStep }: { attempt: JobAttemptRow; lastStep: number }) {
  const bar = barOf(attempt, lastStep);
  return (
    <>
      {bar !== null && (
        <svg aria-hidden width="100%" height="10" className="block overflow-visible">
          <line x1="0" x2="100%" y1="5" y2="5" className="stroke-line" strokeWidth="1" />
          <rect
            x={`${bar.from}%`}
            width={`${Math.max(0.5, bar.to - bar.from)}%`}
            y="2.5"
            height="5"
            rx="1.5"
            className="fill-moving"
          />
          {bar.safe !== null && <circle cx={`${bar.safe}%`} cy="5" r="4" className="fill-safe stroke-panel" />}
        </svg>
      )}
      <div className="nums text-12 text-faint">{stepsWords(attempt)}</div>
    </>
  );
}
