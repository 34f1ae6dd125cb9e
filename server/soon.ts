import { Fault } from "#protocol/fault.ts";
export const soon = async <T>(): Promise<T> => {
  throw new Fault("UNSUPPORTED");
};
export async function* soonStream<T>(): AsyncGenerator<T> {
  throw new Fault("UNSUPPORTED");
}
