/** Where the sealed key of a profile belongs (`table|rowId|field`): bound into what is sealed, so it opens nowhere else. */
export const secretPlace = (rowId: string): string => `ProfileSecret|${rowId}|sealed`;

/** Where the sealed address and key of an alert channel belong. */
export const channelPlace = (channelId: string): string => `AlertChannelSecret|${channelId}|sealed`;
