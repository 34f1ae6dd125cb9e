import type { SentCommand } from "#protocol/wire/send-command.ts";
import { formatCount } from "#protocol/base/units.ts";

/** Returns the result as a sentence: how many nodes get the command now, how many later, how many never. */
export function sentWords(sent: readonly SentCommand[]): { tone: "safe" | "risk"; text: string } {
  const refused = sent.filter(({ fault }) => fault !== null).length;
  const now = sent.filter(({ fault, isConnected }) => fault === null && isConnected).length;
  const later = sent.length - refused - now;
  const count = (nodes: number) => (nodes === 1 ? "1 node" : `${formatCount(nodes)} nodes`);
  const parts = [
    ...(now > 0 ? [`${count(now)} ${now === 1 ? "has" : "have"} it`] : []),
    ...(later > 0 ? [`${count(later)} will receive it on returning within the hour`] : []),
    ...(refused > 0 ? [`${count(refused)} cannot get it`] : []),
  ];
  return { tone: refused > 0 || later > 0 ? "risk" : "safe", text: `${parts.join(", ")}.` };
}
