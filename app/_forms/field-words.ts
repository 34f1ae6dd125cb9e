import type { FaultData } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";

/** Returns the last name of a path in words: `credential.secretAccessKey` is "Secret access key". */
function wordsOfPath(path: string): string {
  const name = path.split(".").findLast((part) => !/^\d+$/.test(part)) ?? path;
  const words = name.replace(/([a-z0-9])([A-Z])/g, (_, before: string, after: string) => `${before} ${after}`);
  return `${words.charAt(0).toUpperCase()}${words.slice(1).toLowerCase()}`;
}

/** Returns the message of a fault about one field, without the field's name. */
export const fieldWordsOf = ({ code, detail }: FaultData): string =>
  detail === undefined ? FAULTS[code].says : `${detail.charAt(0).toUpperCase()}${detail.slice(1).replace(/\.$/, "")}.`;

const A_PATH = /^[a-z][A-Za-z0-9]*(\.[A-Za-z0-9]+)+$/;

/** Returns the fault with an input path in its subject replaced by words. */
export function inWords(fault: FaultData): FaultData {
  const { code, subject = "" } = fault;
  return code === "BAD_INPUT" && A_PATH.test(subject) ? { ...fault, subject: wordsOfPath(subject) } : fault;
}
