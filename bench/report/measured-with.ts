import type { z } from "zod";
import type { machineFacts } from "./results.ts";

interface About {
  /** Whether bytes went through an emulated link, whose congestion control is then named. */
  hasLink: boolean;
  /** Facts to add after Node: the server, the seed. */
  beside?: readonly string[];
}

/** Returns the small print below a table as Markdown: when, on what and by which command it was measured. */
export function measuredWith(facts: z.infer<typeof machineFacts>, { hasLink, beside = [] }: About): string {
  const { date, machine, commit, command } = facts;
  const words = [
    date.slice(0, 10),
    `${machine.cores} cores of ${machine.cpu}`,
    `${machine.memoryGib} GiB`,
    `Linux ${machine.kernel}`,
    `load before ${machine.loadBefore}`,
    ...(hasLink ? [machine.congestion] : []),
    `Node ${machine.node}`,
    ...beside,
    `commit ${commit}: \`${command}\``,
  ];
  return `<sub>${words.join(", ")}</sub>`;
}

/** Returns the command that repeats a measurement, without `--save`. */
export const commandOf = (bench: string, args: readonly string[]): string =>
  `npm run bench -- ${bench} ${args.filter((arg) => arg !== "--save").join(" ")}`.trim();
