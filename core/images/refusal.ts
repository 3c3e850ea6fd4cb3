/** The reason to refuse a picture, for the sender: a sentence with the allowed amount where there is too much. */
export class ImageRefusal extends Error {
  override name = 'ImageRefusal'
}
