img = cv2.imread(p)[:, :, ::-1]          # RGB
img = letterbox(img, 640)
x = torch.from_numpy(img.copy()).permute(2, 0, 1).float()[None] / 255
np.save("in.npy", x.numpy())
y = model(x)
