import { usage } from "../../command-line/command-context.ts";
import type { Environment } from "../../base/environment.ts";
import { formatCount } from "#protocol/base/units.ts";

/** GPUs of each slot, and how to say it. */
export interface GpuShares {
  /** Variables of the environment of each slot. */
  variables: readonly Environment[];
  sentence: string;
}

/**
 * Divides the GPUs among slots, in their order; the first slots have one more where they do not divide.
 * @throws Fault BAD_INPUT when there are fewer GPUs than slots
 */
export function shareGpus(ids: readonly string[], about: { slots: number; isNamed: boolean }): GpuShares {
  const { slots, isNamed } = about;
  const all = formatCount(slots);
  if (ids.length === 0) {
    const variables = Array.from({ length: slots }, () => ({}));
    return { variables, sentence: `Serving ${all} slots without GPUs: nvidia-smi and CUDA_VISIBLE_DEVICES name none.` };
  }
  if (ids.length < slots)
    throw usage(
      `--slots ${slots}`,
      `a slot needs a GPU of its own, and this worker sees ${formatCount(ids.length)}: use --slots ${ids.length} or fewer`,
    );
  const [least, more] = [Math.floor(ids.length / slots), ids.length % slots];
  const parts: string[] = [];
  for (let slot = 0, from = 0; slot < slots; slot++) {
    const end = from + least + (slot < more ? 1 : 0);
    parts.push(ids.slice(from, end).join(","));
    from = end;
  }
  const uneven =
    more === 0
      ? ""
      : ` ${formatCount(ids.length)} GPUs do not divide by ${all}: the first ${formatCount(more)} have one more.`;
  const shown = parts.map((part, slot) => `slot ${slot + 1}: ${part}`).join("; ");
  return {
    // Indexes of nvidia-smi count by the bus; those that CUDA counts otherwise are in the order of a given variable.
    variables: parts.map((part) => ({
      CUDA_VISIBLE_DEVICES: part,
      ...(!isNamed && { CUDA_DEVICE_ORDER: "PCI_BUS_ID" }),
    })),
    sentence: `Serving ${all} slots, with these GPUs: ${shown}.${uneven}`,
  };
}
