/** Where the sealed key of a profile belongs (`table|rowId|field`): bound into what is sealed, so it opens nowhere else. */
export const secretPlace = (rowId: string): string => `ProfileSecret|${rowId}|sealed`;
