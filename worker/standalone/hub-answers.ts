import type { HubClient } from "../hub-link/hub.ts";

type AnswerOf<Name extends keyof HubClient["node"]> = HubClient["node"][Name] extends
  | { mutate: (...args: never[]) => Promise<infer Answer> }
  | { query: (...args: never[]) => Promise<infer Answer> }
  ? Answer
  : never;
/** Removes undefined fields, as JSON does: the types of a hub's answers expect that. */
export const answered = <Name extends keyof HubClient["node"]>(_call: Name, value: object): AnswerOf<Name> =>
  JSON.parse(JSON.stringify(value)) as AnswerOf<Name>;
