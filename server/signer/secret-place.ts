/**
 * Returns the place of a profile's sealed key (`table|rowId|field`). It is bound into the sealed text, which opens nowhere
 * else.
 */
export const secretPlace = (rowId: string): string => `ProfileSecret|${rowId}|sealed`;

/** Returns the place of the sealed address and key of an alert channel. */
export const channelPlace = (channelId: string): string => `AlertChannelSecret|${channelId}|sealed`;

/** Returns the place of the sealed private half of a wrapping key. */
export const sealKeyPlace = (keyId: string): string => `SealKeySecret|${keyId}|sealed`;
/** Returns the place of the sealed benchmark key of a profile. */
export const benchKeyPlace = (profileId: string): string => `ProfileBenchKey|${profileId}|sealed`;

/** Returns the place of the sealed secrets of a job. */
export const jobSecretPlace = (jobId: string): string => `JobSecret|${jobId}|sealed`;
/** Returns the place of the sealed secrets of a schedule's jobs. */
export const scheduleSecretPlace = (scheduleId: string): string => `JobScheduleSecret|${scheduleId}|sealed`;
/** Returns the place of the sealed key of an account at a provider of groups. */
export const groupKeyPlace = (accountId: string): string => `GroupAccountSecret|${accountId}|sealed`;
