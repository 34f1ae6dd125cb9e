"use client";
import { useState } from "react";
import { formatDuration } from "#protocol/base/units.ts";
import type { GroupView, InstanceAction, InstanceView, RuleView } from "#protocol/groups/groups.ts";
import { INSTANCE_ACTIONS } from "#protocol/groups/groups.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { Age } from "../_hub/live/age.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { Link } from "../_ui/navigation/link.tsx";
import { Cell, Row, Table, TwoLines, type Column } from "../_ui/tables/table.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { ACTION_WORDS, GROUP_TONES, INSTANCE_TONES, instancesWords, NODE_TONES, stakeWords } from "./group-words.ts";

const ActDialog = onDemand(() => import("./act-dialog.tsx").then((part) => part.ActDialog));
const RuleDialog = onDemand(() => import("./rule-dialog.tsx").then((part) => part.RuleDialog));

/** Instances that are drawn before a person asks for the rest. */
const SHOWN_AT_FIRST = 20;

/** Subject of a dialog: an action on all or one instance. */
interface Asked {
  action: InstanceAction;
  instanceIds: string[] | null;
}

/** Shows one group with its rule and its instances. */
export function GroupSection({ accountId, group }: { accountId: string; group: GroupView }) {
  const whyNot = useWhyNot("operator");
  const [asked, setAsked] = useState<Asked | null>(null);
  const [isRuling, setRuling] = useState(false);
  const name = visibleText(group.name);
  const gpus = group.gpus.map((gpu) => visibleText(gpu)).join(", ");
  const price = group.price;
  const look = { look: "quiet", size: "small", whyNot } as const;
  return (
    <section aria-label={`Group ${name}`} className="py-2.5">
      <div className="flex flex-wrap items-start gap-x-3 gap-y-2 px-4">
        <div className="min-w-0 flex-1 basis-72">
          <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <h3 className="font-mid">{name}</h3>
            {group.isKnown ? (
              <Tag tone={GROUP_TONES[group.state]}>{group.state}</Tag>
            ) : (
              <Tag tone="risk">not at the provider</Tag>
            )}
          </div>
          {group.isKnown && (
            <p className="nums text-12 text-faint">
              {instancesWords(group.replicas)} wanted, {group.instances.length} there
              {gpus !== "" && `, ${gpus}`}
              {price !== null && `, ${price.perHour} ${price.currency} an hour each`}
            </p>
          )}
          {group.about !== "" && <p className="truncate text-12 text-faint">{visibleText(group.about)}</p>}
        </div>
        <div className="flex flex-wrap gap-0.5 max-sm:-ml-2">
          {group.instances.length > 0 &&
            INSTANCE_ACTIONS.map((action) => (
              <Button
                key={action}
                {...look}
                aria-label={`${ACTION_WORDS[action].verb} all of ${name}`}
                onClick={() => setAsked({ action, instanceIds: null })}
              >
                {ACTION_WORDS[action].verb} all…
              </Button>
            ))}
          <Button {...look} aria-label={`Rule of ${name}`} onClick={() => setRuling(true)}>
            {group.rule === null ? "Add rule" : "Rule"}
          </Button>
        </div>
      </div>
      {group.rule !== null && <RuleLine rule={group.rule} />}
      {group.fault !== null && (
        <div className="px-4 pt-2">
          <FaultNote fault={group.fault} />
        </div>
      )}
      {group.instances.length > 0 && (
        <InstanceTable group={group} onAct={(action, instanceId) => setAsked({ action, instanceIds: [instanceId] })} />
      )}
      {asked !== null && (
        <ActDialog accountId={accountId} group={group.name} asked={asked} onClose={() => setAsked(null)} />
      )}
      {isRuling && <RuleDialog accountId={accountId} group={group} onClose={() => setRuling(false)} />}
    </section>
  );
}

function RuleLine({ rule }: { rule: RuleView }) {
  const { queue, limits, isEnabled, reason, decidedAt, fault } = rule;
  return (
    <div className="flex flex-col gap-1 px-4 pt-1.5">
      <p className="nums text-soft">
        {isEnabled ? "Scaled" : "Rule (off): scaled"} by queue {visibleText(queue)}, {limits.min} to {limits.max}{" "}
        instances, idle {formatDuration(limits.idleMs)}, cooldown {formatDuration(limits.cooldownMs)}.
      </p>
      {isEnabled && reason !== null && decidedAt !== null && (
        <p className="nums text-12 text-faint">
          {reason} <Age at={decidedAt} />
        </p>
      )}
      {isEnabled && fault !== null && <FaultNote fault={fault} />}
    </div>
  );
}

const COLUMNS: readonly Column[] = [
  { key: "machine", head: "Machine" },
  { key: "state", head: "Instance", from: "sm" },
  { key: "node", head: "Node", edge: "narrow" },
  { key: "stake", head: "At stake", from: "md" },
  { key: "actions", head: "", label: "Actions", align: "right", from: "sm" },
];

function InstanceTable({
  group,
  onAct,
}: {
  group: GroupView;
  onAct: (action: InstanceAction, instanceId: string) => void;
}) {
  const [isWhole, setWhole] = useState(false);
  const all = group.instances;
  const shown = isWhole ? all : all.slice(0, SHOWN_AT_FIRST);
  return (
    <div className="pt-2">
      <Table label={`Instances of ${visibleText(group.name)}`} columns={COLUMNS}>
        {shown.map((instance) => (
          <InstanceLine key={instance.id} instance={instance} onAct={onAct} />
        ))}
      </Table>
      {shown.length < all.length && (
        <div className="px-4 pt-2">
          <Button size="small" onClick={() => setWhole(true)}>
            Show all {all.length}
          </Button>
        </div>
      )}
    </div>
  );
}

function InstanceLine({
  instance,
  onAct,
}: {
  instance: InstanceView;
  onAct: (action: InstanceAction, instanceId: string) => void;
}) {
  const whyNot = useWhyNot("operator");
  const { id, machineId, state, nodes, stake, pulledPercent } = instance;
  const machine = visibleText(machineId);
  const progress = state === "downloading" && pulledPercent !== null ? ` ${Math.round(pulledPercent)} %` : "";
  return (
    <Row>
      <Cell className="max-w-44">
        <TwoLines
          first={
            <span className="font-mono text-12" title={machine}>
              {machine}
            </span>
          }
          second={<span className="md:hidden">{stakeWords(stake)}</span>}
        />
      </Cell>
      <Cell from="sm">
        <Tag tone={INSTANCE_TONES[state]}>
          {state}
          {progress}
        </Tag>
      </Cell>
      <Cell className="max-sm:pr-4">
        {nodes.length === 0 ? (
          <span className="text-faint">none yet</span>
        ) : (
          <span className="flex flex-wrap gap-x-3 gap-y-1">
            {nodes.map((node) => (
              <span key={node.id} className="inline-flex items-center gap-2">
                <Link href={`/nodes/${encodeURIComponent(node.id)}`} className="hover:underline">
                  {visibleText(node.name)}
                </Link>
                <Tag tone={NODE_TONES[node.state]}>{node.state}</Tag>
              </span>
            ))}
          </span>
        )}
      </Cell>
      <Cell from="md" className="nums text-soft">
        {stakeWords(stake)}
      </Cell>
      <Cell align="right" from="sm">
        {INSTANCE_ACTIONS.map((action) => (
          <Button
            key={action}
            look="quiet"
            size="small"
            whyNot={whyNot}
            aria-label={`${ACTION_WORDS[action].verb} the instance on ${machine}`}
            onClick={() => onAct(action, id)}
          >
            {ACTION_WORDS[action].verb}
          </Button>
        ))}
      </Cell>
    </Row>
  );
}
