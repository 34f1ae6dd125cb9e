import { measuredWith } from "../report/measured-with.ts";
import type { FleetResult, Phase } from "./result.ts";

/** Writes the page of the fleet results. */

const count = (value: number): string => value.toLocaleString("en-US");
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
const ms = (value: number | null): string => (value === null ? "never" : `${count(Math.round(value))} ms`);

/** A requirement for a fleet of this size, and whether the result meets it. */
export interface Requirement {
  says: string;
  isMet: boolean;
}

const cpuOf = (phases: readonly Phase[]): number => Math.max(...phases.map(({ cpu }) => cpu));
const rssOf = (phases: readonly Phase[]): number => Math.max(...phases.map(({ rssMb }) => rssMb));

/** Returns the requirements for a result. */
export function requirementsOf(result: FleetResult): Requirement[] {
  const { nodes, phases, killed, commandMs, screenMs, lostEnds, commandsTwice } = result;
  const list: Requirement[] = [
    { says: "no acknowledged report lost", isMet: lostEnds === 0 },
    { says: "no command executed twice", isMet: commandsTwice === 0 },
    { says: "commands at P99 within 1 s", isMet: commandMs.p99 !== null && commandMs.p99 < 1000 },
  ];
  if (screenMs !== null) list.push({ says: "from report to screen at P95 within 2 s", isMet: screenMs.p95 < 2000 });
  if (nodes >= 10_000) {
    list.push({ says: "CPU below 70 % of one core", isMet: cpuOf(phases) < 0.7 });
    list.push({ says: "memory below 1 GB", isMet: rssOf(phases) < 1000 });
  }
  if (nodes <= 200) list.push({ says: "CPU below 5 % of one core", isMet: cpuOf(phases) < 0.05 });
  if (killed !== null) list.push({ says: "ready within 5 s", isMet: killed.readyMs.worst < 5000 });
  return list;
}

function section(result: FleetResult): string {
  const { nodes, everySeconds, intervalSeconds, connectedSeconds, phases, killed, commandMs, screenMs } = result;
  const rows = phases.map(
    ({ phase, seconds, cpu, rssMb }) =>
      `| ${phase} | ${Math.round(seconds)} s | ${percent(cpu)} | ${count(Math.round(rssMb))} MB |`,
  );
  const words = [
    `* All connected after ${count(Math.round(connectedSeconds))} s, each enrolled anew.`,
    `* Commands, ${count(commandMs.count)} of them, from the click to the node: P50 ${ms(commandMs.p50)}, P99 ${ms(commandMs.p99)}.`,
    ...(screenMs === null
      ? []
      : [
          `* From a node's report to its number on the screen, ${count(screenMs.count)} times: P50 ${ms(screenMs.p50)}, P95 ${ms(screenMs.p95)}.`,
        ]),
    `* ${count(result.acknowledgedEnds)} ends of transfers were acknowledged; ${count(result.lostEnds)} of them are not in the hub's database. ${count(result.commandsTwice)} commands were executed twice.`,
    ...(killed === null
      ? []
      : [
          `* Killed with -9 ${killed.kills} times: ready after ${ms(killed.readyMs.p50)} (P50), ${ms(killed.readyMs.worst)} at worst; every node back ${killed.allBackSeconds.p50.toFixed(1)} s later (P50), ${killed.allBackSeconds.worst.toFixed(1)} s at worst; in the busiest second ${percent(killed.busiestSecond)} of the fleet came.`,
        ]),
  ];
  const judged = requirementsOf(result).map(({ says, isMet }) => `* ${isMet ? "met" : "**not met**"}: ${says}`);
  return `## ${count(nodes)} nodes${killed === null ? "" : ", and a hub that is killed"}

A report of each every ${everySeconds} s, an upload every ${intervalSeconds} s.

| | for | CPU, of one core | memory |
| --- | ---: | ---: | ---: |
${rows.join("\n")}

${words.join("\n")}

${judged.join("\n")}

${measuredWith(result, { hasLink: false })}`;
}

/** Returns the whole page. */
export const fleetPage = (results: readonly FleetResult[]): string => `# How many nodes one hub carries

Made by \`npm run bench -- fleet --report\` from \`bench/results/fleet/\`; do not edit.

Simulated nodes speak the real protocol: each enrols with a token, holds a stream, reports what it moves, tells how uploads ended, and
obeys commands. The hub with its database, its signer and its pages has one core of the machine; the nodes, the store and the person who
looks have the other. CPU and memory are of all processes of the hub. A report counts as acknowledged when the node was told so; after the end
the hub's database is searched for every one of them.

${results.map(section).join("\n\n")}
`;
