import { stepWords } from "#protocol/checkpoint/step-words.ts";
import type { FoundCheckpoint } from "#protocol/wire/checkpoint-pages.ts";
import type { ProfileView } from "#protocol/wire/profile-views.ts";
import type { NodeRow, RunRow } from "#protocol/wire/views.ts";
import { nodeFactsLine } from "../_nodes/node-filter.ts";
import type { CommandKind } from "../_commands/command-form.ts";
import { act, type Entry, type PaletteScope } from "./palette-entry.ts";

/** Makes the palette's entries for runs, steps, nodes and buckets, and for actions on each. */

const NODE_ORDERS: readonly { kind: CommandKind; words: string }[] = [
  { kind: "hold", words: "Pause" },
  { kind: "release", words: "Resume" },
  { kind: "limit", words: "Limit" },
  { kind: "probe", words: "Measure the link of" },
  { kind: "flush", words: "Upload now from" },
  { kind: "retry-uploads", words: "Retry failed uploads of" },
  { kind: "drain", words: "Drain" },
  { kind: "reallocate", words: "Give back the machine of" },
];

/** Returns the runs; with typed text also their actions. */
export const runEntries = (runs: readonly RunRow[], scope: PaletteScope): Entry[] =>
  runs.flatMap((run): Entry[] => [
    {
      id: `run ${run.name}`,
      kind: "run",
      text: run.name,
      note: run.writerNodeName ?? undefined,
      choose: scope.go(`/runs/${encodeURIComponent(run.name)}`),
    },
    ...(scope.words === "" || !scope.mayAct || run.newestCheckpointId === null
      ? []
      : [
          act(`restore ${run.name}`, `Restore ${run.name}`, () =>
            scope.restore({ checkpointId: run.newestCheckpointId, nodeId: null }),
          ),
          act(
            `compare ${run.name}`,
            `Compare the newest checkpoints of ${run.name}`,
            scope.go(`/compare?to=${encodeURIComponent(run.newestCheckpointId)}`),
          ),
        ]),
  ]);

/** Returns the buckets; with typed text also a key search in each. */
export const bucketEntries = (profiles: readonly ProfileView[], scope: PaletteScope): Entry[] =>
  profiles.flatMap(({ id, profile }): Entry[] => [
    {
      id: `bucket ${id}`,
      kind: "bucket",
      text: profile.name,
      note: profile.bucket,
      choose: scope.go(`/buckets/${encodeURIComponent(id)}`),
    },
    ...(scope.words === ""
      ? []
      : [
          {
            id: `keys ${id}`,
            kind: "keys" as const,
            place: "last" as const,
            text: `Keys with “${scope.words}” in ${profile.name}`,
            choose: scope.go(`/buckets/${encodeURIComponent(id)}?search=${encodeURIComponent(scope.words)}`),
          },
        ]),
  ]);

/** Returns the nodes. */
export const nodeEntries = (nodes: readonly NodeRow[], scope: PaletteScope): Entry[] =>
  nodes.map((node): Entry => ({
    id: `node ${node.id}`,
    kind: "node",
    text: node.name,
    note: nodeFactsLine(node),
    choose: scope.go(`/nodes/${encodeURIComponent(node.id)}`),
  }));

/** Returns the actions on each node whose name matches a typed word. */
export const nodeActions = (nodes: readonly NodeRow[], scope: PaletteScope): Entry[] =>
  scope.words === "" || !scope.mayAct
    ? []
    : nodes
        .filter(({ name }) => anyIn(name, scope.words))
        .flatMap((node) => [
          act(`restore to ${node.id}`, `Restore onto ${node.name}`, () =>
            scope.restore({ checkpointId: null, nodeId: node.id }),
          ),
          ...NODE_ORDERS.map(({ kind, words: verb }) =>
            act(`${kind} ${node.id}`, `${verb} ${node.name}`, () => scope.order({ nodeId: node.id, kind })),
          ),
        ]);

/** Returns the steps and tags that the hub found for the typed text. */
export const stepEntries = (found: readonly FoundCheckpoint[], scope: PaletteScope): Entry[] =>
  found.flatMap(({ id, run, step, state, tag }): Entry[] => [
    {
      id: `step ${id} ${tag ?? ""}`,
      kind: tag === null ? "step" : "tag",
      text: tag ?? `${run}, ${stepWords(step)}`,
      also: tag === null ? String(step) : undefined,
      note: tag === null ? (state === "complete" ? undefined : state) : `${run}, ${stepWords(step)}`,
      choose: scope.go(`/checkpoints/${encodeURIComponent(id)}`),
    },
    ...(scope.mayAct && tag === null && state === "complete"
      ? [
          {
            ...act(`restore step ${id}`, `Restore ${stepWords(step)} of ${run}`, () =>
              scope.restore({ checkpointId: id, nodeId: null }),
            ),
            also: String(step),
          },
        ]
      : []),
  ]);

/** Returns whether any typed word is in the name. Without this limit, thousands of nodes would have thousands of actions. */
const anyIn = (name: string, typed: string): boolean =>
  typed
    .toLowerCase()
    .split(/\s+/)
    .some((word) => name.toLowerCase().includes(word));
