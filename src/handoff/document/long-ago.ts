/** Said of a failure that was neither put right nor tried again while the work went on to other things. */
export const longAgoText = 'not run again since'
