def load(path):
    img = cv2.imread(path)
    img = cv2.resize(img, (64, 64), interpolation=cv2.INTER_LINEAR)
    x = img.astype(np.float32) / 255.0
    return np.ascontiguousarray(x.transpose(2, 0, 1)[None])
