import type { HubClient } from "../hub-link/hub.ts";

type AnswerOf<Name extends keyof HubClient["node"]> = HubClient["node"][Name] extends
  | { mutate: (...args: never[]) => Promise<infer Answer> }
  | { query: (...args: never[]) => Promise<infer Answer> }
  ? Answer
  : never;
/** Leaves out what is undefined, as what crosses a network does: the types of a hub's answers say so. */
export const answered = <Name extends keyof HubClient["node"]>(_call: Name, value: object): AnswerOf<Name> =>
  JSON.parse(JSON.stringify(value)) as AnswerOf<Name>;
