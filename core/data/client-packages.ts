/** The packages for game developers that the program brings along, `@gameyard/…`. */
export const CLIENT_PACKAGES = ['adapter', 'browser', 'engines', 'room', 'sdk'] as const

/** Returns the file name of a package, which is also the last part of its address. */
export const clientPackageFile = (name: string): string => `gameyard-${name}.tgz`
