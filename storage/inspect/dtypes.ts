/**
 * Element types by their safetensors names, and GGUF's quantized blocks by GGUF's names. Sources: the dtype table of the
 * safetensors format, torch's storage classes and dtypes, numpy's array interface, `ggml_type` of ggml with the block
 * sizes of its structs.
 */

/** Bits of one element. */
const BITS: ReadonlyMap<string, number> = new Map([
  ["BOOL", 8],
  ["F4", 4],
  ["F6_E2M3", 6],
  ["F6_E3M2", 6],
  ["U8", 8],
  ["I8", 8],
  ["F8_E5M2", 8],
  ["F8_E4M3", 8],
  ["F8_E8M0", 8],
  ["F8_E4M3FNUZ", 8],
  ["F8_E5M2FNUZ", 8],
  ["I16", 16],
  ["U16", 16],
  ["F16", 16],
  ["BF16", 16],
  ["I32", 32],
  ["U32", 32],
  ["F32", 32],
  ["C64", 64],
  ["F64", 64],
  ["I64", 64],
  ["U64", 64],
  ["C128", 128],
]);

/** Returns the bytes of this many elements; null for an unknown type. */
export function bytesOf(dtype: string, elements: number): number | null {
  const bits = BITS.get(dtype);
  return bits === undefined ? null : Math.ceil((elements * bits) / 8);
}

const TORCH: ReadonlyMap<string, string> = new Map([
  ["float64", "F64"],
  ["double", "F64"],
  ["float32", "F32"],
  ["float", "F32"],
  ["float16", "F16"],
  ["half", "F16"],
  ["bfloat16", "BF16"],
  ["float8_e4m3fn", "F8_E4M3"],
  ["float8_e5m2", "F8_E5M2"],
  ["float8_e4m3fnuz", "F8_E4M3FNUZ"],
  ["float8_e5m2fnuz", "F8_E5M2FNUZ"],
  ["float8_e8m0fnu", "F8_E8M0"],
  ["int64", "I64"],
  ["long", "I64"],
  ["int32", "I32"],
  ["int", "I32"],
  ["int16", "I16"],
  ["short", "I16"],
  ["int8", "I8"],
  ["uint64", "U64"],
  ["uint32", "U32"],
  ["uint16", "U16"],
  ["uint8", "U8"],
  ["bool", "BOOL"],
  ["complex64", "C64"],
  ["cfloat", "C64"],
  ["complex128", "C128"],
  ["cdouble", "C128"],
  ["qint8", "I8"],
  ["quint8", "U8"],
  ["qint32", "I32"],
]);

/** Returns the type of a torch dtype, named without `torch.`; null for an unknown one. */
export const dtypeOfTorch = (name: string): string | null => TORCH.get(name) ?? null;

const STORAGES: ReadonlyMap<string, string> = new Map([
  ["DoubleStorage", "F64"],
  ["FloatStorage", "F32"],
  ["HalfStorage", "F16"],
  ["BFloat16Storage", "BF16"],
  ["LongStorage", "I64"],
  ["IntStorage", "I32"],
  ["ShortStorage", "I16"],
  ["CharStorage", "I8"],
  ["ByteStorage", "U8"],
  ["BoolStorage", "BOOL"],
  ["ComplexFloatStorage", "C64"],
  ["ComplexDoubleStorage", "C128"],
  ["QInt8Storage", "I8"],
  ["QUInt8Storage", "U8"],
  ["QInt32Storage", "I32"],
  ["UntypedStorage", "U8"],
]);

export const dtypeOfStorage = (name: string): string | null => STORAGES.get(name) ?? null;

/** Returns the type of a numpy descriptor such as `<f4`; null for Python objects, records, text and dates. */
export function dtypeOfNumpy(descr: string): string | null {
  const [, kind = "", size = ""] = /^[<>|=]?([fiubc])(\d{1,2})$/.exec(descr) ?? [];
  if (kind === "b") return size === "1" ? "BOOL" : null;
  const name = kind === "" ? "" : `${kind.toUpperCase()}${Number(size) * 8}`;
  return BITS.has(name) ? name : null;
}

interface GgmlType {
  readonly name: string;
  /** Elements per block, and the block's bytes. */
  readonly elements: number;
  readonly sizeBytes: number;
}

const ggml = (name: string, elements: number, sizeBytes: number): GgmlType => ({ name, elements, sizeBytes });

const GGML: ReadonlyMap<number, GgmlType> = new Map([
  [0, ggml("F32", 1, 4)],
  [1, ggml("F16", 1, 2)],
  [2, ggml("Q4_0", 32, 18)],
  [3, ggml("Q4_1", 32, 20)],
  [6, ggml("Q5_0", 32, 22)],
  [7, ggml("Q5_1", 32, 24)],
  [8, ggml("Q8_0", 32, 34)],
  [9, ggml("Q8_1", 32, 40)],
  [10, ggml("Q2_K", 256, 84)],
  [11, ggml("Q3_K", 256, 110)],
  [12, ggml("Q4_K", 256, 144)],
  [13, ggml("Q5_K", 256, 176)],
  [14, ggml("Q6_K", 256, 210)],
  [15, ggml("Q8_K", 256, 292)],
  [16, ggml("IQ2_XXS", 256, 66)],
  [17, ggml("IQ2_XS", 256, 74)],
  [18, ggml("IQ3_XXS", 256, 98)],
  [19, ggml("IQ1_S", 256, 50)],
  [20, ggml("IQ4_NL", 32, 18)],
  [21, ggml("IQ3_S", 256, 110)],
  [22, ggml("IQ2_S", 256, 82)],
  [23, ggml("IQ4_XS", 256, 136)],
  [24, ggml("I8", 1, 1)],
  [25, ggml("I16", 1, 2)],
  [26, ggml("I32", 1, 4)],
  [27, ggml("I64", 1, 8)],
  [28, ggml("F64", 1, 8)],
  [29, ggml("IQ1_M", 256, 56)],
  [30, ggml("BF16", 1, 2)],
  [34, ggml("TQ1_0", 256, 54)],
  [35, ggml("TQ2_0", 256, 66)],
  [39, ggml("MXFP4", 32, 17)],
  [40, ggml("NVFP4", 64, 36)],
  [41, ggml("Q1_0", 128, 18)],
]);

export const ggmlTypeOf = (id: number): GgmlType | null => GGML.get(id) ?? null;
