/** Where the sealed key of a profile belongs (`table|rowId|field`): bound into what is sealed, so it opens nowhere else. */
export const secretPlace = (rowId: string): string => `ProfileSecret|${rowId}|sealed`;

/** Where the sealed address and key of an alert channel belong. */
export const channelPlace = (channelId: string): string => `AlertChannelSecret|${channelId}|sealed`;

/** Where the private half of a wrapping key belongs. */
export const sealKeyPlace = (keyId: string): string => `SealKeySecret|${keyId}|sealed`;
/** Where the sealed key that engines of benchmarks are given belongs. */
export const benchKeyPlace = (profileId: string): string => `ProfileBenchKey|${profileId}|sealed`;
