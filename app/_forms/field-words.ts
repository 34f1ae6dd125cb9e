import type { FaultData } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";

/** The last name of a path in words: `credential.secretAccessKey` is "Secret access key". */
function wordsOfPath(path: string): string {
  const name = path.split(".").findLast((part) => !/^\d+$/.test(part)) ?? path;
  const words = name.replace(/([a-z0-9])([A-Z])/g, (_, before: string, after: string) => `${before} ${after}`);
  return `${words.charAt(0).toUpperCase()}${words.slice(1).toLowerCase()}`;
}

/** What the hub says of the field that a fault names, without the name. */
export const fieldWordsOf = ({ code, detail }: FaultData): string =>
  detail === undefined ? FAULTS[code].says : `${detail.charAt(0).toUpperCase()}${detail.slice(1).replace(/\.$/, "")}.`;

const A_PATH = /^[a-z][A-Za-z0-9]*(\.[A-Za-z0-9]+)+$/;

/** A fault whose path of a call is said in words. */
export function inWords(fault: FaultData): FaultData {
  const { code, subject = "" } = fault;
  return code === "BAD_INPUT" && A_PATH.test(subject) ? { ...fault, subject: wordsOfPath(subject) } : fault;
}
