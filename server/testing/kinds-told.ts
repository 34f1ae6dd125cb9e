import { callAs, type TestHub } from "./open-test-hub.ts";

/** For tests: returns the kinds of the events that people see, newest first. */
export async function kindsTold({ hub }: TestHub): Promise<string[]> {
  const query = { nodeId: null, run: null, cursor: null, limit: 50 };
  return (await callAs(hub, "viewer").events.list(query)).rows.map(({ kind }) => kind);
}
